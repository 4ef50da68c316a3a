import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("git by the names of its own programs, and outputs of its plumbing", () => {
  judgesAs({
    deny: [
      "git-lfs install --system",
      "/usr/lib/git-core/git-init /srv/r",
      "git credential-store --file /srv/creds store < c",
      "git daemon --export-all --pid-file=/srv/pid",
      "git mailsplit -o/srv/m mbox",
      "git mailinfo /srv/msg patch < mail",
    ],
    allow: [
      "git-status",
      "git-cliff --config /srv/cliff.toml",
      "git credential-store --file creds store < c",
      "git mailsplit -oout mbox",
      "git mailinfo msg patch < /srv/mail",
    ],
  });
});

import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("text that goes through sed, cut, awk or seq before a shell reads it", () => {
  judgesAs({
    deny: [
      "sed 's/^#//' <<< '#touch /srv/x' | sh",
      "sed -E 's/(a+)b/\\1/; s|opt|srv|g' <<< 'touch /opt/x' | bash",
      "cut -c2- <<< '#touch /srv/x' | sh",
      "cut -d: -f2 <<< 'a:touch /srv/x' | sh",
      "grep -v '^#' <<'E' | bash\n# x\ntouch /srv/x\nE",
      "awk '{print \"touch \" $1}' <<< /srv/x | sh",
      "printf '%s\\n' /srv/a | sed 's/^/rm /' | sh",
      "seq 1 2 | sed 's|^|touch /srv/|' | sh",
      "ls /srv | sed 's|^|rm /srv/|' | sh",
      "ls /srv | awk '{print \"/srv/\" $1}' | xargs rm",
      'touch "$(sed s/opt/srv/ <<< /opt/x)"',
    ],
    allow: [
      "sed 's/^#//' <<< '#touch x' | sh",
      "awk '{print \"touch \" $1}' <<< x | sh",
      "printf '%s\\n' a | sed 's/^/rm /' | sh",
      "seq 1 2 | sed 's|^|touch f|' | sh",
      "ls src | sed 's|^|src/|' | xargs rm",
      "for i in $(seq 1 3); do touch f$i; done",
      "sed 's/^/> /' /srv/mail | cat",
      "find . -name '*.sql' | sed 's/^/ls /' | sh",
      'touch "$(sed s/opt/out/ <<< opt/x)"',
    ],
  });
});

import { assertEquals } from "@std/assert";
import { decideCall } from "../explain.ts";

/** What lies in the root, and where it leads. */
const LINKS: Record<string, string> = {
  "/work/env/data": "/srv/data",
  "/work/env/file": "/srv/file",
  "/work/env/broken": "/srv/nowhere",
};

function verdict(command: string): string {
  const { allow } = decideCall(
    { toolName: "Bash", toolInput: { command }, cwd: "/work/env" },
    { active: true, allowedRoots: ["/work/env"] },
    {
      now: 0,
      home: "/home/me",
      paths: {
        readLink: (path) =>
          LINKS[path] ??
            (/^\/(?:work|srv)(?:\/env|\/data|\/file)?$/.test(path) ||
                path === "/work/env/a"
              ? null
              : undefined),
        isDirectory: (path) => /^\/(?:work|srv)(?:\/env|\/data)?$/.test(path),
      },
    },
  );
  return allow ? "allow" : "deny";
}

function judges(verdicts: { deny: string[]; allow: string[] }): void {
  for (const command of verdicts.deny) {
    assertEquals(verdict(command), "deny", command);
  }
  for (const command of verdicts.allow) {
    assertEquals(verdict(command), "allow", command);
  }
}

Deno.test("a link to a file is replaced by what is moved there, one to a directory entered", () => {
  judges({
    deny: [
      "mv a data",
      "cp a file",
      "cp -f a file",
      "install a data",
      "ln -sf a data",
      "touch file",
      "sed --follow-symlinks -i s/a/b/ file",
      "sed -i s/a/b/ data/x",
    ],
    allow: [
      "mv a file",
      "mv a broken",
      "mv -T a data",
      "cp --remove-destination a file",
      "install -m 600 /dev/null file",
      "ln -sf a file",
      "ln -sf a broken",
      "ln -sfn a data",
      "touch -h file",
      "sed -i s/a/b/ file",
      "perl -pi -e s/a/b/ file",
      "python3 -c \"import os; os.replace('a', 'file')\"",
    ],
  });
});

Deno.test("a link that a command has taken away leads nowhere, unless that is not certain", () => {
  judges({
    deny: [
      "false && rm file; echo x > file",
      "if x; then rm file; fi; echo x > file",
      "rm -i file; echo x > file",
      "rm file && ln -s /srv/x file && echo x > file",
      "rm a && ln -s /srv/x a && echo x > a",
      "mv data moved && touch moved/x",
      "cp -a file other && echo x > other",
      "[ -f file ] && rm file; echo x > file",
      "find . -name file -exec truncate -s 0 {} +",
      "rm file; echo x > data/x",
      "cd data/../x && touch y || touch data/y",
    ],
    allow: [
      "rm file && echo x > file",
      "rm -f data; mkdir data && touch data/x",
      "unlink broken; cat > broken <<'E'\nx\nE",
      "mv file kept && echo x > file",
      "ln -s /srv l; rm l; echo x > l",
      "mv a file; echo x >> file",
      "sed -i s/a/b/ file && echo x >> file",
      "(rm file); echo x > file",
      "[ -L file ] && rm file; echo x > file",
      "if [ -L data ]; then rm data; fi; mkdir -p data; touch data/x",
      "find . -name file -delete; echo x > file",
      "[ ! -L file ] || rm file; echo x > file",
      "python3 -c \"import os; os.remove('file'); open('file', 'w')\"",
    ],
  });
});

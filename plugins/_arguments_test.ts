import { assertEquals } from "@std/assert";
import { resolveArguments } from "./_arguments.ts";

const plugin = {
  dir: "/p",
  paths: new Map([
    ["greet.py", true],
    ["run", true],
    ["lib", false],
    ["lib/a.js", true],
    ["conf.json", true],
  ]),
};

function resolved(line: string[]): string[] | "refused" {
  const { args, problem } = resolveArguments(line, plugin);
  return problem === undefined ? args : "refused";
}

Deno.test("resolveArguments() makes arguments that name a file of the plugin absolute", () => {
  const rows: [string[], string[] | "refused"][] = [
    [["python3", "greet.py"], ["/p/greet.py"]],
    [["python3", "./greet.py"], ["/p/greet.py"]],
    [["python3", "-u", "lib/../greet.py", "x"], ["-u", "/p/greet.py", "x"]],
    [["node", "lib/a.js"], ["/p/lib/a.js"]],
    [["node", "--require=lib/a.js", "-"], ["--require=/p/lib/a.js", "-"]],
    [["tool", "--config", "conf.json"], ["--config", "/p/conf.json"]],
    [["tool", "--config=./conf.json"], ["--config=/p/conf.json"]],
    [["ls", "lib"], ["lib"]],
    [["ls", "./lib"], ["/p/lib"]],
    [["ls", "."], ["."]],
    [["ls", ".."], [".."]],
    [["cat", "README.md"], ["README.md"]],
    [["cat", "/etc/hostname"], ["/etc/hostname"]],
    [["npm", "run", "build"], ["/p/run", "build"]],
    [["echo", ""], [""]],
  ];
  for (const [line, expected] of rows) assertEquals(resolved(line), expected);
});

Deno.test("resolveArguments() refuses scripts that the workspace would supply", () => {
  for (
    const line of [
      ["sh", "other.sh"],
      ["bash", "-e", "sub/other"],
      ["python3.12", "../greet.py"],
      ["/usr/bin/env", "python3", "other.py"],
      ["timeout", "5", "node", "x.js"],
      ["deno", "run", "-A", "x.ts"],
      ["cat", "./other"],
      ["cat", "../other"],
      ["tool", "--hook=./other.js"],
    ]
  ) assertEquals(resolved(line), "refused", line.join(" "));
});

Deno.test("resolveArguments() leaves program text alone", () => {
  for (
    const line of [
      ["sh", "-c", "cat a/b.txt"],
      ["bash", "-lc", "./x.sh"].slice(0, 2).concat("exec x.sh"),
      ["python3", "-c", "print(1/2)"],
      ["python3", "-m", "http.server"],
      ["perl", "-ne", "s/a/b/; print"],
      ["node", "-e", "console.log(1/2)"],
      ["node", "-p", "1/2"],
      ["php", "-r", "echo 1/2;"],
      ["deno", "eval", "console.log(1/2)"],
      ["env", "FOO=a/b", "tool", "x.y"],
    ]
  ) assertEquals(resolved(line), line.slice(1), line.join(" "));
});

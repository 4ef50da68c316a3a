import { judgesAs } from "../../tests/support/verdicts.ts";

Deno.test("code of languages that are seldom given on a command line", () => {
  judgesAs({
    deny: [
      'julia -e \'write("/srv/x","a")\'',
      'julia -e \'open("/srv/x","w") do f; end\'',
      "julia -e 'run(`touch /srv/x`)'",
      "julia -e 'using Pkg; Pkg.add(\"X\")'",
      "tclsh <<'T'\nset f [open /srv/x w]\nputs $f a\nT",
      "tclsh <<'T'\nfile delete -force /srv/x\nexec touch /srv/y\nT",
      'elixir -e \'File.write!("/srv/x","a")\'',
      'elixir -e \'System.cmd("touch", ["/srv/x"])\'',
      'groovy -e \'new File("/srv/x").text="a"\'',
      "groovy -e '\"touch /srv/x\".execute()'",
      'jshell - <<< \'java.nio.file.Files.writeString(java.nio.file.Path.of("/srv/x"),"a");\'',
      "bb -e '(spit \"/srv/x\" 1)'",
      'raku -e \'spurt "/srv/x", "a"\'',
      'crystal eval \'File.write("/srv/x","a")\'',
      'octave --eval \'f=fopen("/srv/x","w")\'',
      "sbcl --eval '(delete-file \"/srv/x\")'",
      "cat > A.java <<'J'\nFiles.delete(Path.of(\"/srv/x\"));\nJ\njava A.java",
      "java -jar tool.jar --output /srv/x",
    ],
    allow: [
      "julia -e 'println(read(\"/srv/x\", String))'",
      'julia -e \'write("x","/srv/a")\'',
      "elixir -e 'IO.puts(File.read!(\"/srv/x\"))'",
      "groovy -e 'println new File(\"/srv/x\").text'",
      "bb -e '(println (slurp \"/srv/x\"))'",
      "tclsh <<'T'\nset f [open /srv/x r]\nputs [read $f]\nT",
      "raku -e 'say \"/srv/x\".IO.slurp'",
      "java -cp /srv/lib Main",
      "julia script.jl /srv/x",
    ],
  });
});

Deno.test("scripting code: temporary places, edits in place, shells in templates, path objects", () => {
  judgesAs({
    deny: [
      "python3 -c \"import tempfile; tempfile.mkdtemp(dir='/srv')\"",
      "python3 -c \"import fileinput; [print(l) for l in fileinput.input('/srv/x', inplace=True)]\"",
      "bun -e 'import {$} from \"bun\"; await $`touch /srv/x`'",
      'perl -MPath::Tiny -e \'path("/srv/x")->spew("a")\'',
    ],
    allow: [
      "python3 -c \"import tempfile; tempfile.mkdtemp(dir='.')\"",
      'python3 -c "import tempfile,sys; tempfile.mkdtemp(dir=sys.argv[1])" x',
      "python3 -c \"import fileinput; [print(l) for l in fileinput.input('/srv/x')]\"",
      "bun -e 'import {$} from \"bun\"; await $`ls /srv`'",
      "bun -e 'import {$} from \"bun\"; await $`rm -rf ${dist}`'",
      "perl -MPath::Tiny -e 'print path(\"/srv/x\")->slurp'",
    ],
  });
});

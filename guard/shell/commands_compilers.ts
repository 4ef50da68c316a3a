/**
 * Compilers, linkers and code generators, and what is done to what they made. Data only.
 *
 * @module
 */
import { each, HERE, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const compilerCommands: VerbTable = verbTable(() => ({
  ...each("gcc g++ cc c++ clang clang++ tcc", {
    takes:
      "-I -L -D -U -include -isystem -x -T -Xlinker -Xclang -arch -target -framework -l",
    writes: "-o -MF -MJ -dumpdir -dumpbase --serialize-diagnostics -aux-info",
    singleDash: true,
    here: true,
    hereUnless:
      "-E -M -MM -fsyntax-only -v --version --help -dumpversion -dumpmachine -print-search-dirs -print-file-name",
  }),
  ld: {
    takes: "-T -L -l -rpath -soname",
    writes:
      "-o --output -Map --Map --out-implib --dependency-file --print-map-file",
    singleDash: true,
  },
  as: { takes: "-I", writes: "-o" },
  rustc: {
    named: "-C",
    takes:
      "-L -l -C -A -W -D -F --crate-name --crate-type --edition --emit --target --cfg --extern",
    writes: "-o --out-dir",
    here: true,
    hereUnless: "-V -vV --version --help -h --print --explain",
  },
  javac: {
    takes: "-cp -classpath -source -target --release -sourcepath --module-path",
    writes: "-d -s -h",
    singleDash: true,
    here: true,
    hereUnless: "-version --version -help --help",
  },
  jar: READS,
  kotlinc: { takes: "-cp", writes: "-d", singleDash: true },
  scalac: { takes: "-cp", writes: "-d", singleDash: true },
  ghc: { writes: "-o -outputdir -odir -hidir", singleDash: true },
  nasm: { takes: "-f -I", writes: "-o -l" },
  protoc: {
    takes: "-I --proto_path",
    writes: "-o --descriptor_set_out",
    guess: true,
  },
  flex: { writes: "-o" },
  bison: { writes: "-o -H --output --header --defines --graph --xml" },
  swig: { writes: "-o -outdir -oh", singleDash: true },

  ...each(
    "gfortran g77 nvcc icc ifort emcc em++ llc opt llvm-link lld ld.lld gold mold gdc",
    {
      takes: "-I -L -D -l -x -T -arch",
      writes: "-o -MF -Map -J --output",
      singleDash: true,
    },
  ),
  ...each("csc vbc mcs gmcs fsc", {
    takes: "-r -t -target -reference -lib",
    writes: "-o -out /out -doc /doc -pdb /pdb",
    singleDash: true,
  }),
  groovyc: { takes: "-cp", writes: "-d", singleDash: true },
  javadoc: {
    takes: "-cp -classpath -sourcepath --source-path -doclet",
    writes: "-d",
    singleDash: true,
    here: true,
    hereUnless: "--version --help -help",
  },
  yacc: { writes: "-b -o" },
  ...each("lex re2c ragel", { takes: "-F -I", writes: "-o --output" }),
  // What is done to objects and programs
  "llvm-objcopy": { operands: "final", takes: "-I -O -j -R -N -K" },
  "llvm-profdata": { subs: { merge: { writes: "-o --output" } } },
  ...each("upx", {
    operands: "all",
    writes: "-o",
    instead: "-o",
    unless: "-t -l -h -V --version --help",
  }),
  chrpath: {
    operands: "all",
    takes: "-r --replace",
    unless: "-l --list",
    mode: "content",
  },
  install_name_tool: {
    operands: "final",
    takes: "-id -add_rpath -delete_rpath",
    singleDash: true,
  },
  dsymutil: { writes: "-o --out" },
  jfr: {
    subs: {
      ...each("assemble scrub", { operands: "final" }),
      disassemble: { writes: "--output" },
    },
  },
  wasm2wat: { writes: "-o --output" },
  wat2wasm: { writes: "-o --output" },
  "wasm-opt": { writes: "-o --output" },
  elm: {
    subs: { make: { writes: "--output --docs" }, init: HERE, install: HERE },
  },
  zig: {
    writes: "-p --prefix --cache-dir --global-cache-dir",
    subs: {
      fmt: { operands: "all", unless: "--check --stdin" },
      ...each("build-exe build-lib build-obj test", {
        writes: "-femit-bin -femit-asm --cache-dir",
        here: true,
        singleDash: true,
      }),
      cc: { writes: "-o", singleDash: true, here: true },
      "c++": { writes: "-o", singleDash: true, here: true },
      build: {
        writes:
          "-p --prefix --cache-dir --build-file --prefix-exe-dir --prefix-lib-dir",
        here: true,
      },
      ...each("init init-exe init-lib", HERE),
    },
  },
  ...each("odin v", {
    subs: each("build run", { writes: "-out -o", singleDash: true }),
    writes: "-o",
  }),
  erlc: { takes: "-I -D", writes: "-o" },
  elixirc: { writes: "-o" },
  nim: {
    takes: "-d --define --path -p --cpu --os",
    subs: each("c cpp js compile doc compileToC check", {
      writes: "-o --out --outdir --nimcache",
      singleDash: true,
    }),
  },
  ...each("ocamlopt ocamlc ocamlfind", {
    takes: "-I -package",
    writes: "-o",
    singleDash: true,
  }),
}));

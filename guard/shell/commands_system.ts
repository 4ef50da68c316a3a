/**
 * Devices, desktops, schedulers and other parts of the system. Data only.
 *
 * @module
 */
import { ALL, each, READS, type VerbTable, verbTable } from "./verb_spec.ts";

/** The rows by program. */
export const systemCommands: VerbTable = verbTable(() => ({
  // Devices and images of them
  ...each(
    "mkfs mke2fs mkswap losetup cryptsetup tune2fs fsck",
    { operands: "all" },
  ),
  "mkfs.ext4": ALL,
  "mkfs.xfs": ALL,
  "mkfs.vfat": ALL,
  mmv: { operands: "final", unless: "-n" },
  mksquashfs: { operands: "second", singleDash: true },
  xorriso: {
    takes: "-indev -map -volid -as",
    writes: "-outdev -dev",
    singleDash: true,
  },
  "qemu-img": {
    subs: {
      create: { takes: "-f -o -b -F", operands: "first" },
      convert: { takes: "-f -O -o", operands: "last" },
      resize: { operands: "first" },
      snapshot: { operands: "all" },
    },
  },
  ...each("fdisk cfdisk gdisk sgdisk", {
    operands: "all",
    unless: "-l --list -p --print -x --list-details",
  }),
  sfdisk: {
    operands: "first",
    unless:
      "-l --list -d --dump -J --json -V --verify -s --show-size -F --list-free",
  },
  parted: {
    operands: "first",
    unless: "-l --list print unit",
    takes: "-a --align",
  },
  wipefs: { operands: "all", onlyWith: "-a --all -o --offset" },
  hdparm: { operands: "all", onlyWith: "-w --security-erase" },
  ...each("dcfldd dc3dd sg_dd sdd", { sets: "of hof log ofs errlog hashlog" }),
  ...each("ddrescue dd_rescue safecopy", {
    operands: "rest",
    takes: "-b -c -s -i -r",
  }),
  ...each("fsarchiver", {
    subs: {
      ...each("savefs savedir", { operands: "first", takes: "-z -j -e" }),
      restfs: {},
    },
  }),
  ...each("partclone.ext4 partclone.xfs partclone.dd", {
    takes: "-s -L",
    writes: "-o -O --output",
  }),
  ...each("foremost scalpel bulk_extractor photorec", {
    takes: "-i -t -c",
    writes: "-o -O /d",
  }),
  binwalk: { takes: "-y -x -D", writes: "-C --directory -f --log" },
  // Desktops and the caches that installs refresh
  code: { takes: "-g -r -d", writes: "--user-data-dir --extensions-dir" },
  ...each("desktop-file-install", {
    writes: "--dir",
    takes: "--set-key --set-value",
  }),
  "desktop-file-edit": { operands: "all" },
  ...each(
    "glib-compile-schemas update-mime-database update-desktop-database gtk-update-icon-cache mandb texhash mktexlsr",
    { operands: "all", takes: "--targetdir" },
  ),
  "install-info": {
    operands: "second",
    takes: "--dir-file --info-file --entry",
  },
  plutil: {
    operands: "all",
    onlyWith: "-convert -insert -replace -remove",
    takes: "-convert -insert -replace -remove",
    writes: "-o",
    instead: "-o",
    unless: "-p -lint",
    singleDash: true,
  },
  PlistBuddy: { operands: "all", onlyWith: "-c", takes: "-c" },
  xattr: { operands: "final", onlyWith: "-w -d -c", unless: "-l -p" },
  "iptables-save": { writes: "-f --file" },
  "ip6tables-save": { writes: "-f --file" },
  localedef: {
    operands: "final",
    takes: "-i -f -u --inputfile --charmap --prefix -A",
    unless: "--list-archive --help",
  },
  "gvfs-trash": ALL,
  // Sweeps of duplicates, dotfiles
  ...each("fdupes jdupes", {
    operands: "all",
    onlyWith: "-d --delete -dN -L --linkhard -B",
    mode: "tree",
  }),
  rdfind: {
    operands: "all",
    takes: "-deleteduplicates -makehardlinks -makesymlinks -dryrun -n",
    onlyWith: "-deleteduplicates -makehardlinks -makesymlinks",
    singleDash: true,
  },
  hardlink: { operands: "all", unless: "-n --dry-run", takes: "-x -i -s" },
  stow: {
    takes: "-d --dir --ignore --defer --override",
    writes: "-t --target",
    here: "..",
    hereUnless: "-n --no --simulate --version --help",
  },
  chezmoi: { writes: "-D --destination", takes: "-S --source -c --config" },
  // Backups
  "rdiff-backup": {
    operands: "last",
    unless: "-l --list-increments list info verify calculate",
  },
  bup: { writes: "-d --bup-dir" },
  duplicity: {
    operands: "last",
    unless:
      "collection-status list-current-files verify restore --dry-run cleanup",
    takes: "--encrypt-key --exclude --include",
    writes: "--archive-dir --log-file --tempdir",
  },
  kopia: { writes: "--config-file --log-dir --cache-directory" },
  // Measurements
  ab: { takes: "-n -c -t -p -T -H -C -A", writes: "-g -e" },
  k6: {
    subs: {
      run: {
        takes: "-u -d -i -e --vus --duration",
        writes: "-o --out --summary-export --console-output",
        named: "-o --out",
      },
    },
  },
  locust: {
    takes: "-f -u -r -t --host",
    writes: "--csv --html --logfile --json-file",
  },
  jmeter: {
    takes: "-t -J -G -p -q",
    writes: "-l -j -e -o --logfile --jmeterlogfile --reportoutputfolder",
    exact: true,
  },
  siege: { takes: "-c -t -r -d", writes: "-l --log" },
  newman: {
    subs: {
      run: {
        takes: "-e -r -g -n",
        writes:
          "--reporter-json-export --reporter-html-export --reporter-junit-export --reporter-cli-export --export-environment --export-globals --export-collection",
      },
    },
  },
  robot: {
    takes: "-v -t -i -e -s",
    writes: "-d --outputdir -o --output -l --log -r --report -x --xunit",
  },
  nox: { takes: "-s -f", writes: "--envdir --report" },
  // Packers of programs
  fpm: {
    takes: "-s -t -n -v -C -d -a",
    writes: "-p --package --workdir --log-file",
  },
  checkinstall: { writes: "--pakdir" },
  linuxdeploy: { takes: "-e -i -d", writes: "--appdir" },
  appimagetool: { operands: "last" },
  makeself: { operands: "second", exact: true },
  "flatpak-builder": {
    operands: "first",
    takes: "--arch --repo-branch",
    writes: "--repo --state-dir",
  },
  act: {
    writes: "--artifact-server-path --cache-server-path --action-cache-path",
    takes: "-j -P -s -e -W",
  },
  // Clouds' own tools
  ...each("vercel netlify", {
    takes: "-t --token --scope",
    writes: "--cwd --output",
  }),
  supabase: {
    subs: { db: { subs: { dump: { writes: "-f --file" } } }, gen: {} },
  },
  ...each("flyctl fly", {
    subs: { config: { subs: { save: { writes: "-c --config", here: true } } } },
  }),
  wandb: { subs: { artifact: { subs: { get: { writes: "--root" } } } } },
  mlflow: {
    subs: { artifacts: { subs: { download: { writes: "-d --dst-path" } } } },
  },
  ollama: READS,
  tensorboard: READS,
  ...each("gunicorn hypercorn", {
    takes: "-w -b -k -t -c",
    writes:
      "-p --pid --access-logfile --error-logfile --log-file --worker-tmp-dir",
  }),
  pm2: {
    takes: "-i -n --name",
    writes: "-l --log --output -o --error -e --pid",
    exact: true,
  },
  supervisord: {
    takes: "-c -u -d -i",
    writes: "-l --logfile -j --pidfile -q --childlogdir",
  },
  minio: {
    subs: {
      server: { operands: "all", takes: "--address --console-address -S" },
    },
  },
  prometheus: {
    writes: "--storage.tsdb.path --storage.agent.path",
    takes: "--config.file --web.listen-address",
  },
  caddy: {
    subs: {
      fmt: { operands: "all", onlyWith: "-w --overwrite" },
      "add-package": { here: true },
    },
  },
  tflint: { writes: "--chdir", onlyWith: "--fix" },
  ...each("standard-changelog conventional-changelog", {
    takes: "-p -k -r",
    writes: "-i -o --infile --outfile",
  }),
  towncrier: {
    subs: each("build create", {
      writes: "--dir",
      here: true,
      takes: "--version --name",
    }),
  },
  ...each("bump2version bumpversion bump-my-version", {
    operands: "rest",
    takes:
      "--current-version --new-version --parse --serialize --config-file --message",
    unless: "-n --dry-run --list",
  }),
  ...each("termtosvg", { operands: "first", takes: "-c -g -t -m -M" }),
  calibredb: { writes: "--with-library --library-path --to-dir" },
  ...each("vagrant", {
    subs: {
      package: { writes: "--output", takes: "--base", here: true },
      init: { here: true },
    },
  }),
  eksctl: { writes: "--kubeconfig" },
  firebase: { subs: { "emulators:export": { operands: "first" } } },
  syncthing: { writes: "--home --config --data --logfile" },
  ...each("innoextract ouch", { writes: "-d --output-dir --dir" }),
  // Firmware, games, maps, books and science
  ...each("esptool.py esptool", {
    subs: {
      read_flash: { operands: "final" },
      "dump_mem": { operands: "final" },
      ...each("image_info chip_id flash_id", READS),
    },
    takes: "-p --port -b --baud -c --chip",
  }),
  west: {
    subs: {
      build: { writes: "-d --build-dir", takes: "-b -p -t -s" },
      init: { operands: "first" },
    },
  },
  "idf.py": { writes: "-B --build-dir", cwd: "-C --project-dir" },
  godot: {
    operands: "final",
    onlyWith: "--export-release --export-debug --export-pack --export",
    takes: "--path --rendering-driver",
  },
  "gltf-transform": {
    subs: each(
      "optimize draco meshopt resize copy dedup prune weld simplify merge webp",
      { operands: "final", takes: "--compress --texture-compress" },
    ),
  },
  ...each(
    "gdal_translate gdalwarp gdal_rasterize gdaldem gdal_contour gdal_merge.py",
    {
      operands: "last",
      takes:
        "-of -ot -t_srs -s_srs -te -tr -r -co -b -a_srs -projwin -outsize -dstnodata -srcnodata",
      writes: "-o",
      singleDash: true,
    },
  ),
  ogr2ogr: {
    operands: "first",
    takes:
      "-f -t_srs -s_srs -a_srs -sql -where -select -nln -nlt -spat -clipsrc -lco -dsco -dialect",
    singleDash: true,
  },
  snakemake: {
    cwd: "-d --directory",
    writes: "--report --shadow-prefix --conda-prefix",
    takes: "-j -c -s --cores --jobs --snakefile --config",
    here: true,
    hereUnless: "-n --dry-run --dryrun -l --list --lint --version --help",
  },
  nextflow: {
    takes: "-c -C -profile -params-file",
    writes:
      "-w -work-dir -with-report -with-trace -with-timeline -with-dag -log",
    singleDash: true,
    subs: {
      run: {
        takes: "-profile -params-file -c -r -entry",
        writes:
          "-w -work-dir -with-report -with-trace -with-timeline -with-dag -output-dir",
        singleDash: true,
      },
    },
  },
  ...each("jadx apktool dex2jar", { writes: "-d --output-dir -o --output" }),
  onnxsim: { operands: "second" },
  "ebook-convert": { operands: "second" },
  ...each("capnp capnpc", {
    attached: "-oc++: -oc: -ojava: -orust: -ogo:",
    singleDash: true,
  }),
  "avro-tools": {
    subs: {
      compile: { operands: "final" },
      ...each("tojson getschema getmeta", READS),
    },
  },
  ...each("dmd ldc2 gdmd", {
    takes: "-I -J -L",
    writes: "-of -od -Hf -Df -Xf",
    attached: "-of -od",
    singleDash: true,
  }),
  fpc: { attached: "-FE -FU -o", singleDash: true },
  workbox: { writes: "--swDest" },
  vuepress: {
    subs: { build: { writes: "-d --dest --temp --cache", here: true } },
  },
  asciinema: {
    subs: {
      rec: { operands: "first", takes: "-c -t -i --command --title" },
      ...each("play cat upload", READS),
    },
  },
}));

/**
 * What the functions of scripting languages do, by their names. Data only.
 *
 * @module
 */

/** Calls whose first argument is written. */
export const FIRST =
  /^(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|mkdir|mkdirSync|mkdtemp|mkdtempSync|truncate|truncateSync|chmod|chmodSync|chown|chownSync|utimes|utimesSync|makedirs|mkdirs?|mkdir_p|mkpath|make_path|touch|writeTextFile|writeTextFileSync|ensureDir|ensureDirSync|ensureFile|outputFile|outputFileSync|outputJson|outputJsonSync|writeJson|writeJSON|writeJsonSync|file_put_contents|mkfifo|mknod|to_csv|to_json|to_parquet|to_excel|to_pickle|to_html|to_hdf|to_feather|to_netcdf|to_zarr|to_xml|to_stata|to_markdown|to_file|save_pretrained|save_model|save_weights|savefig|savetxt|savez|savez_compressed|imwrite|imsave|saveas|binwrite|writelines_to|atomic_write|setxattr|utime|lchmod|lchown|chflags|make_archive|extractTo|toFile|write_file|write_(?:csv|parquet|json|ndjson|ipc|avro|excel|delta|html|image|videofile|audiofile|gif)|FileHandler|RotatingFileHandler|TimedRotatingFileHandler)$/;
/** Calls whose first argument is removed. */
export const REMOVES =
  /^(?:unlink|unlinkSync|rm|rmSync|rmdir|rmdirSync|remove|removeSync|removedirs|rmtree|rm_rf|rm_r|rm_f|remove_tree|emptyDir|emptyDirSync|del|deleteSync|rimraf|delete)$/;
/** Calls that make a temporary file or directory, which the system's place is for. */
export const TEMPORARY =
  /^(?:mkdtemp|mkstemp|NamedTemporaryFile|TemporaryDirectory|TemporaryFile|mktmpdir)$/;
/** Calls whose second argument is written. */
export const SECOND =
  /^(?:copyFile|copyFileSync|copy|copy2|copyfile|copytree|cp|cpSync|cp_r|copySync|copy_file|copy_entry|symlink|symlinkSync|link|linkSync|ln_s|ln_sf|linkto|make_archive_to|extractall_to|urlretrieve|install|fcopy|write_table|write_feather|write_dataset|imagepng|imagejpeg|imagegif|imagewebp|move_uploaded_file)$/;
/** Calls that remove the first argument and write the second. */
export const MOVES =
  /^(?:rename|renameSync|renames|replace_file|move|moveSync|mv)$/;
/** Calls that run a command line. */
export const RUNS =
  /^(?:system|popen|exec|execSync|getoutput|getstatusoutput|check_output|check_call|run|call|Popen|spawn|spawnSync|execFile|execFileSync|shell_exec|passthru|proc_open|qx|`|sh|execa|execaSync|execaCommand|backticks|capture2|capture3|capture2e|create_subprocess_shell|create_subprocess_exec)$/;
/** Calls of Python's `os` that become or start a program; its own name comes twice. */
export const EXECS = /^(?:exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?)$/;
/** R: functions whose first argument is written. */
export const R_FIRST =
  /^(?:sink|pdf|png|jpeg|tiff|svg|bmp|cairo_pdf|postscript|unlink|file\.remove|file\.create|file\.append|dir\.create|dir_create|file_create|file_delete|ggsave|dump|Rprof|zip)$/;
/** R: functions whose second argument is written. */
export const R_SECOND =
  /^(?:write\.(?:csv2?|table)|write_\w+|saveRDS|writeLines|fwrite|dput|file\.copy|file_copy|file\.rename|file_move|download\.file|file\.symlink|saveWidget|st_write|writeRaster|write\.xlsx|qsave|write)$/;
/** R: functions that write only what they are given by name. */
export const R_NAMED =
  /^(?:save|cat|print|capture\.output|render|write|save\.image|knit|purl|spin|untar|unzip)$/;
/** Methods of a path object that write it. */
export const PATH_METHODS =
  /^(?:write_text|write_bytes|touch|mkdir|unlink|rmdir|chmod|symlink_to|hardlink_to|rename|replace|open|write|rmtree|delete|mkpath|binwrite)$/;
/** Methods of Perl's path objects that write. */
export const PATH_TINY =
  /^(?:spew\w*|append\w*|touch\w*|mkpath|mkdir|remove\w*|edit\w*|openw\w*|opena\w*|print|println|write)$/;
/** Modules of node that are called themselves, or by `sync`, with what they remove or make. */
export const CALLED_MODULES =
  /^(?:rimraf|mkdirp|make-dir|del|trash|fs-extra|write-file-atomic|write|write-json-file|rimraf-sync)$/;
/** SQL that changes a database. */
export const STATEMENT =
  /^\s*(?:create|insert|update|delete|drop|replace|alter|vacuum)\b/i;
/** Names that are only dangerous on a file module. */
export const NEEDS_MODULE =
  /^(?:remove|copy|move|replace|rename|delete|link|run|call|exec|touch|mkdir|rm|cp|mv|install|del|sh|truncate|spawn)$/;
/** Those modules. */
export const MODULES =
  /^(?:os|shutil|fs|fsp|fse|promises|path|pathlib|File|FileUtils|Dir|Deno|Bun|subprocess|child_process|cp|IO|Kernel|unlink|shelljs|shell|Path|sh|fsPromises|process|Process)$/;

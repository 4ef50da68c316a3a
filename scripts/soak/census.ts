/** What exists at one moment. */
export interface Census {
  /** Processes that speak of the soak's directory, as `pid command`. */
  processes: string[];
  /** Our open file descriptors. */
  descriptors: number;
  /** Temporary files and sockets below the soak's directory, the home excepted. */
  files: string[];
}

/**
 * Counts what is there.
 *
 * @param root The soak's directory, which is also everybody's TMPDIR.
 */
export async function census(root: string): Promise<Census> {
  // What was killed a moment ago may still be on its way out.
  let processes = processesOf(root);
  for (let wait = 0; wait < 50 && processes.length > 0; wait++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    processes = processesOf(root);
  }
  return {
    processes,
    descriptors: (await Array.fromAsync(Deno.readDir("/proc/self/fd"))).length,
    files: await leftFiles(root),
  };
}

function processesOf(root: string): string[] {
  const found: string[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === Deno.pid) continue;
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`);
      const text = line + Deno.readTextFileSync(`/proc/${name}/environ`);
      if (line !== "" && text.includes(root)) {
        found.push(`${name} ${line.replaceAll("\0", " ").slice(0, 100)}`);
      }
    } catch {
      // Gone, or not ours.
    }
  }
  return found;
}

async function leftFiles(root: string): Promise<string[]> {
  const left: string[] = [];
  for await (const { name } of Deno.readDir(root)) {
    if (name !== "home") left.push(name);
  }
  const workers = `${root}/home/workers`;
  try {
    for await (const { name } of Deno.readDir(workers)) {
      const socket = `${workers}/${name}/worker.sock`;
      if (await Deno.lstat(socket).then(() => true, () => false)) {
        left.push(socket);
      }
    }
  } catch {
    // No worker was started.
  }
  return left.sort();
}

/** What the second census has that the first has not. */
export function compare(before: Census, after: Census): Census {
  const were = new Set([...before.processes, ...before.files]);
  return {
    processes: after.processes.filter((line) => !were.has(line)),
    descriptors: Math.max(0, after.descriptors - before.descriptors),
    files: after.files.filter((file) => !were.has(file)),
  };
}

import { assertEquals, assertThrows } from "@std/assert";
import {
  bulkheadHome,
  inheritedEnvironment,
  isLoaderVariable,
} from "./environment.ts";
import { PermissionRequiredError } from "./permissions.ts";

function withEnv(set: Record<string, string>, fn: () => void): void {
  const before = Object.keys(set).map((k) => [k, Deno.env.get(k)] as const);
  for (const [name, value] of Object.entries(set)) Deno.env.set(name, value);
  try {
    fn();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Deno.env.delete(name);
      else Deno.env.set(name, value);
    }
  }
}

Deno.test("inheritedEnvironment() leaves secrets behind unless they are declared", () => {
  withEnv({ ANTHROPIC_API_KEY: "k", LD_PRELOAD_X: "x" }, () => {
    assertEquals("ANTHROPIC_API_KEY" in inheritedEnvironment(), false);
    assertEquals(
      inheritedEnvironment(["ANTHROPIC_API_KEY"]).ANTHROPIC_API_KEY,
      "k",
    );
  });
});

Deno.test("inheritedEnvironment() drops relative and empty PATH entries", () => {
  withEnv({ PATH: "bin:/usr/bin::./x:/bin:." }, () => {
    assertEquals(inheritedEnvironment().PATH, "/usr/bin:/bin");
  });
});

Deno.test("isLoaderVariable() knows the loaders' hooks", () => {
  for (
    const name of ["LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS"]
  ) assertEquals(isLoaderVariable(name), true);
  for (const name of ["PATH", "LDAP_URL", "ENVIRONMENT"]) {
    assertEquals(isLoaderVariable(name), false, name);
  }
});

Deno.test("bulkheadHome() prefers the flag, then its own variable, then XDG", () => {
  withEnv({ BULKHEAD_HOME: "/b", XDG_DATA_HOME: "/x", HOME: "/h" }, () => {
    assertEquals(bulkheadHome("/f"), "/f");
    assertEquals(bulkheadHome(), "/b");
    Deno.env.delete("BULKHEAD_HOME");
    assertEquals(bulkheadHome(), "/x/bulkhead");
    Deno.env.delete("XDG_DATA_HOME");
    assertEquals(bulkheadHome(), "/h/.bulkhead");
  });
});

Deno.test({
  name: "inheritedEnvironment() names the flag that is missing",
  permissions: { env: ["HOME"] },
  fn() {
    const error = assertThrows(
      () => inheritedEnvironment(),
      PermissionRequiredError,
    );
    assertEquals(error.flag.startsWith("--allow-env=PATH,"), true);
    assertEquals(error.flag.includes(",HOME"), false);
  },
});

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigFault, loadConfig } from '../../src/platform/config/index.ts';
import type { ConfigInput } from '../../src/platform/config/index.ts';

/** Loads `toml` from a file of its own; the file is gone when this returns. */
export function loadToml(toml: string | Uint8Array, more: Partial<ConfigInput> = {}): ReturnType<typeof loadConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'rasket-config-'));
  const file = join(folder, 'rasket.toml');
  try {
    writeFileSync(file, toml);
    return loadConfig({ env: {}, ...more, file });
  } catch (error) {
    // The folder's random name would make no message comparable.
    if (error instanceof ConfigFault)
      throw new ConfigFault(error.faults.map((fault) => fault.replace(file, 'rasket.toml')));
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function findFaults(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigFault) return error.faults;
    throw error;
  }
  return [];
}

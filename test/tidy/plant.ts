import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** Creates a small tree outside this one, checked by this tree's own configuration, for violations that must never be committed. */
export function plantTree(
  files: Record<string, string>,
  copied: string[] = [],
): { root: string; remove: () => void } & Disposable {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'rasket-tidy-')));
  for (const file of copied) fs.cpSync(path.join(root, file), path.join(folder, file), { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), text);
  }
  fs.symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
  const remove = (): void => fs.rmSync(folder, { recursive: true, force: true });
  return { root: folder, remove, [Symbol.dispose]: remove };
}

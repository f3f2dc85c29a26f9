import fs from 'node:fs';
import path from 'node:path';

/** A problem of the tree: where it is, what is wrong and what would be right. */
export type Problem = { at: string; says: string };

export type SourceFile = { path: string; text: string };

const notOurs = new Set(['node_modules', '.git', '.cache', 'data', 'coverage', 'dist']);

/** Lists every file of the tree under `root` as a path with forward slashes, relative to it, without installed or generated files. */
export function listFiles(root: string, under = ''): string[] {
  const entries = fs.readdirSync(path.join(root, under), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const at = under ? `${under}/${entry.name}` : entry.name;
    if (notOurs.has(entry.name) || entry.name.endsWith('.log')) return [];
    return entry.isDirectory() ? listFiles(root, at) : [at];
  });
}

const sourceFolders = /^(bin|src|cli|console|migrations|test)\//;

export function isSource(file: string): boolean {
  return sourceFolders.test(file) && /\.tsx?$/.test(file) && !file.endsWith('.gen.ts');
}

export function readSources(root: string, wanted: (file: string) => boolean = isSource): SourceFile[] {
  return listFiles(root)
    .filter(wanted)
    .map((file) => ({ path: file, text: fs.readFileSync(path.join(root, file), 'utf8') }));
}

/** Returns the names of the entries of a folder, or undefined if the folder does not exist. */
export function listEntries(root: string, folder: string): string[] | undefined {
  const at = path.join(root, folder);
  return fs.existsSync(at) ? fs.readdirSync(at).sort() : undefined;
}

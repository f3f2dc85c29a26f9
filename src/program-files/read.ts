import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isSingleFile, programRoot } from './places.ts';

const sea = process.getBuiltinModule('node:sea');

/** A file that travels with the program, such as `config/default.toml`. */
export function readProgramFile(name: string): Buffer {
  return isSingleFile ? Buffer.from(sea.getRawAsset(name)) : readFileSync(path.join(programRoot, name));
}

export const readProgramText = (name: string): string => readProgramFile(name).toString('utf8');

/** The names in a folder of the program. */
export function namesIn(folder: string): string[] {
  if (!isSingleFile) return readdirSync(path.join(programRoot, folder));
  const folders = JSON.parse(readProgramText('folders.json')) as Record<string, string[]>;
  return folders[folder] ?? [];
}

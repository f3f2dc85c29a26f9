import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkProfile, folderOf, type Environment } from './kept-keys.ts';

const fileOf = (env: Environment): string => path.join(folderOf(env), 'profile');

/** What `rasket use` chose; undefined: what login kept without a name. */
export function chosenProfile(env: Environment): string | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(env), 'utf8').trim();
  } catch {
    return undefined;
  }
  return text === '' ? undefined : checkProfile(text);
}

/** For all later commands of this user; undefined takes the choice back. */
export function chooseProfile(env: Environment, profile: string | undefined): void {
  const file = fileOf(env);
  if (profile === undefined) return rmSync(file, { force: true });
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const part = `${file}.${process.pid}.part`;
  writeFileSync(part, `${checkProfile(profile)}\n`, { mode: 0o600 });
  renameSync(part, file);
}

import { statSync } from 'node:fs';

/**
 * Permissions that no file with a secret may have: any for others, and write for the group. A group may read the file.
 */
export const TOO_OPEN = 0o037;

/** Permission of every account to change a file. */
export const OTHERS_WRITE = 0o002;

export const formatMode = (mode: number): string => `0${(mode & 0o777).toString(8)}`;

/**
 * Describes how other accounts can use a file, with the command that ends this while this account can still read it.
 * Returns undefined if none of `forbidden` is permitted. Throws if the file does not exist.
 */
export function describeExposure(file: string, forbidden = TOO_OPEN): string | undefined {
  const { mode, uid, gid } = statSync(file);
  if ((mode & forbidden) === 0) return undefined;
  const says = `can be used by other accounts (mode ${formatMode(mode)}); run: `;
  if (uid === process.geteuid?.()) return `${says}chmod ${(mode & 0o040) === 0 ? '600' : '640'} ${file}`;
  const ownGroup = process.getegid?.();
  const isOfGroup = gid === ownGroup || process.getgroups?.().includes(gid) === true;
  return `${says}${isOfGroup ? '' : `chgrp ${ownGroup} ${file} && `}chmod 640 ${file}`;
}

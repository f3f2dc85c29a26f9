import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Throws unless only this account, or root, decides what is in the folder. Code is taken from nowhere else. */
export function mustBeOurs(folder: string): void {
  const stat = lstatSync(folder);
  const account = process.getuid?.();
  if (!stat.isDirectory()) throw new Error('it is no folder, or a link to one');
  if (stat.uid !== account) throw new Error('it belongs to another account');
  if ((stat.mode & 0o022) !== 0) throw new Error('others may write there');
  mustBeOursAbove(realpathSync(folder), account);
}

/** What the system shows as the owner of a file whose account a container does not know. */
const UNKNOWN_ACCOUNT = 65_534;

/** An account that may rename a folder above can put another in its place. Root trusts none but itself. */
function mustBeOursAbove(folder: string, account: number): void {
  const trusted = account === 0 ? [0] : [0, account, UNKNOWN_ACCOUNT];
  for (let above = path.dirname(folder); ; above = path.dirname(above)) {
    const { uid, mode } = lstatSync(above);
    const isSticky = (mode & 0o1000) !== 0;
    if (!trusted.includes(uid) || ((mode & 0o002) !== 0 && !isSticky))
      throw new Error(
        `it stands in ${above}, which is not ${account === 0 ? "root's" : "this account's or root's"} alone`,
      );
    if (above === path.dirname(above)) return;
  }
}

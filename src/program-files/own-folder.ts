import { lstatSync, realpathSync } from 'node:fs';
import path from 'node:path';

/** Throws unless only this account, or root, decides what is in the folder. Code is taken from nowhere else. */
export function mustBeOurs(folder: string): void {
  const stat = lstatSync(folder);
  const account = process.getuid?.();
  if (!stat.isDirectory()) throw new Error('it is no folder, or a link to one');
  if (stat.uid !== account) throw new Error('it belongs to another account');
  if ((stat.mode & 0o022) !== 0) throw new Error('others may write there');
  if (account === 0) mustBeRootsAbove(realpathSync(folder));
}

/** An account that may rename a folder above can put another in its place. */
function mustBeRootsAbove(folder: string): void {
  for (let above = path.dirname(folder); ; above = path.dirname(above)) {
    const { uid, mode } = lstatSync(above);
    const isSticky = (mode & 0o1000) !== 0;
    if (uid !== 0 || ((mode & 0o002) !== 0 && !isSticky))
      throw new Error(`it stands in ${above}, which is not root's alone`);
    if (above === path.dirname(above)) return;
  }
}

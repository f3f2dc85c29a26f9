import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { mustBeOurs } from './addon.ts';

const OWN = 65_501;
const STRANGER = 65_502;

// runs only as root, because only root may change the owner of a folder
describe.runIf(process.getuid?.() === 0)('a folder that code is loaded from', () => {
  let above: string;
  let folder: string;
  beforeEach(() => {
    above = mkdtempSync(path.join(os.tmpdir(), 'rasket-own-'));
    folder = path.join(above, 'rasket');
    mkdirSync(folder, { mode: 0o700 });
    chownSync(folder, OWN, OWN);
    vi.spyOn(process, 'getuid').mockReturnValue(OWN);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    rmSync(above, { recursive: true, force: true });
  });

  it.each([
    [0, 0o755],
    [OWN, 0o700],
    [OWN, 0o775],
    [0, 0o1777],
    [65_534, 0o755],
  ])('is accepted below a folder of account %i with mode %o', (owner, mode) => {
    chownSync(above, owner, owner);
    chmodSync(above, mode);
    mustBeOurs(folder);
  });

  it.each([
    [STRANGER, 0o755],
    [STRANGER, 0o1777],
    [0, 0o777],
    [OWN, 0o777],
  ])('is refused below a folder of account %i with mode %o', (owner, mode) => {
    chownSync(above, owner, owner);
    chmodSync(above, mode);
    expect(() => mustBeOurs(folder)).toThrow(`it is in ${above}, which is not this account's or root's alone`);
  });

  it('of root is refused below a folder of any other account', () => {
    vi.spyOn(process, 'getuid').mockReturnValue(0);
    chownSync(folder, 0, 0);
    chownSync(above, 65_534, 65_534);
    expect(() => mustBeOurs(folder)).toThrow("which is not root's alone");
  });
});

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { zoneFile } from './bind.ts';
import { scratchFolder } from './scratch.ts';

export interface SignedZone {
  /** The zone file, with keys and signatures. */
  file: string;
  /** The DS record in zone file syntax, which a validating resolver has to trust. */
  anchor: string;
}

export interface SigningOptions {
  /** Records that are replaced after they were signed: each text, and what comes instead. */
  forged?: Record<string, string>;
  /** The signatures have expired. */
  isExpired?: boolean;
}

/** Signs a zone with a key of its own. */
export function signZone(zone: string, lines: readonly string[], options: SigningOptions = {}): SignedZone {
  const dir = scratchFolder('rasket-zone-');
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { cwd: dir, encoding: 'utf8', stdio: 'pipe' });
  try {
    writeFileSync(path.join(dir, 'zone'), zoneFile(zone, lines));
    const key = run('dnssec-keygen', '-q', '-a', 'ECDSAP256SHA256', '-f', 'KSK', zone).trim();
    const times = options.isExpired ? ['-s', '20200101000000', '-e', '20200201000000'] : ['-e', 'now+1000d'];
    run('dnssec-signzone', '-q', '-S', '-z', '-P', '-O', 'full', ...times, '-o', zone, '-f', 'signed', 'zone');
    let file = readFileSync(path.join(dir, 'signed'), 'utf8');
    for (const [signed, forged] of Object.entries(options.forged ?? {})) {
      if (!file.includes(signed)) throw new Error(`the zone ${zone} does not contain ${signed}`);
      file = file.replaceAll(signed, forged);
    }
    const anchor = run('dnssec-dsfromkey', '-2', `${key}.key`).trim();
    return { file, anchor };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

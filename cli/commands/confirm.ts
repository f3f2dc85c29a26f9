import { CliFault, howToType, isNameTyped, nameToType } from '../output/index.ts';
import type { Session } from './session.ts';

export interface Doubt {
  /** Continues "This will …". */
  says: string;
  /** What is to be typed; asked for only when somebody can be asked. */
  name: () => Promise<string>;
}

/** What cannot be undone is done after its name was typed, or with --yes. */
export async function mustBeConfirmed(
  { target, terminal, process, again }: Session,
  options: { yes?: boolean | undefined },
  { says, name }: Doubt,
): Promise<void> {
  if (options.yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    const line = again(['--yes']);
    throw new CliFault(`this cannot be undone, and nobody can be asked here; to do it, type: ${line}`, 'usage');
  }
  const { readLine } = await import('./stdin.ts');
  const wanted = nameToType(await name());
  terminal.warn(`This will ${says}. It cannot be undone.`);
  const answer = await readLine(process, `Type ${wanted}${howToType(wanted)} to do it on ${target.url}: `);
  if (!isNameTyped(answer, wanted)) throw new CliFault('nothing was changed');
}

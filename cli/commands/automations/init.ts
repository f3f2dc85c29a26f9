import { CliFault, mustBeFree, save } from '../../output/index.ts';
import type { Session } from '../session.ts';
import { STARTING_FILES } from './starting-files.ts';

/** Writes a starting file for an automation; its comments say what to do next. */
export async function writeStart(
  { terminal, process, isJson }: Session,
  [kind = '', named]: (string | undefined)[],
  { force = false }: { force?: boolean },
): Promise<void> {
  const kinds = Object.keys(STARTING_FILES);
  const text = kinds.includes(kind) ? STARTING_FILES[kind] : undefined;
  if (text === undefined) {
    throw new CliFault(`kind must be one of ${kinds.join(', ')}; got ${JSON.stringify(kind)}`, 'usage');
  }
  if (named === '-') return terminal.print(text.trimEnd());
  const file = named ?? `${kind}.yaml`;
  await mustBeFree(process, file, force);
  await save(process, toChunks(text), file, force);
  if (isJson) return terminal.printJson({ file });
  terminal.print(file);
  terminal.hint('Its first lines name the commands that create what it needs.');
}

async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

import { buildCall } from '../../input/index.ts';
import { CliFault } from '../../output/index.ts';
import { prepare, printResponse, readText, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';
import { readSecret } from '../stdin.ts';

const FLAG = '--client-secret-file';

/** Other users of the machine see the words of a command: the secret is in none of them. */
export async function setSso(session: Session, call: Call): Promise<void> {
  const { clientSecretFile: file } = call.options;
  const secret = typeof file === 'string' ? { client_secret: await readClientSecret(session.process, file) } : {};
  const [path, body] = await prepare(session, call, (typed) => {
    const fields = { ...typed.fields, ...secret };
    if (Object.keys(fields).length > 0) return { ...typed, fields };
    const more = { words: 'See them with', command: ['putSso', '--help'] } as const;
    throw new CliFault('give at least one setting to change.', 'usage', more);
  });
  await printResponse(session, call, await session.client.call(...buildCall(call.action, path, body)), body);
}

async function readClientSecret(process: Session['process'], file: string): Promise<string> {
  const text = file === '-' ? await readSecret(process, 'Client secret: ') : await readText(process, file, FLAG);
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new CliFault(`${FLAG} is empty; it must contain the client secret`, 'usage');
  return secret;
}

import { forgetKey, type Advice, type Environment } from '../client/index.ts';
import { sayOnLine, type Terminal } from '../output/index.ts';

const revoke: Advice = { words: 'Revoke it with', command: ['deleteApiKey', 'ID'] };
const again: Advice = { words: 'Remove it there later with', command: ['logout'] };

export async function logout(terminal: Terminal, env: Environment, options: { profile?: string }): Promise<void> {
  const { places, left } = forgetKey(env, options.profile ?? env.RASKET_PROFILE);
  const say = sayOnLine();
  terminal.print(
    places.length === 0
      ? 'No key was kept.'
      : `The key was removed from ${places.join(' and ')}. The key itself still works. ${say(revoke)}`,
  );
  if (left !== undefined) terminal.print(`It may still be in the keyring, under rasket: ${left}. ${say(again)}`);
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is still set.');
}

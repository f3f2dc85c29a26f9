import { forgetKey, type Environment } from '../client/index.ts';
import type { Terminal } from '../output/index.ts';

export async function logout(terminal: Terminal, env: Environment, options: { profile?: string }): Promise<void> {
  const { places, left } = forgetKey(env, options.profile ?? env.RASKET_PROFILE);
  terminal.print(
    places.length === 0
      ? 'No key was kept.'
      : `The key was removed from ${places.join(' and ')}. The key itself still works; revoke it with: rasket keys revoke ID`,
  );
  if (left !== undefined)
    terminal.print(`It may still be in the keyring, under rasket: ${left}. Call rasket logout again later.`);
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is still set.');
}

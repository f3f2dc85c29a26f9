import { removeCredentials, type TargetInput } from '../client/index.ts';
import type { Terminal } from '../output/index.ts';

export async function logout(
  terminal: Terminal,
  env: TargetInput['env'],
  options: { profile?: string },
): Promise<void> {
  const file = removeCredentials(env, options.profile ?? env.RASKET_PROFILE);
  terminal.print(
    file === undefined
      ? 'No key was kept.'
      : `${file} was removed. The key itself still works; revoke it with: rasket keys revoke ID`,
  );
  if (env.RASKET_API_KEY) terminal.hint('RASKET_API_KEY is still set.');
}

import { listProfiles, nameOfKeyring, type Environment } from '../client/index.ts';
import { formatTable, type Terminal } from '../output/index.ts';

export async function showProfiles(terminal: Terminal, env: Environment, isJson: boolean): Promise<void> {
  const profiles = listProfiles(env);
  const inForce = env.RASKET_PROFILE || undefined;
  if (isJson) {
    return terminal.printJson(
      profiles.map(({ name, url, file, keyring }) => ({
        name: name ?? null,
        url,
        file,
        key_in: keyring ?? 'file',
        in_force: name === inForce,
      })),
    );
  }
  if (profiles.length === 0) return terminal.print('No key is kept. Keep one with: rasket login --url URL');
  terminal.print(
    formatTable(terminal, profiles, [
      { title: '', value: ({ name }) => (name === inForce ? '*' : ' '), fit: 'whole' },
      { title: 'PROFILE', value: ({ name }) => name ?? '(none named)', fit: 'whole' },
      { title: 'SERVER', value: ({ url }) => url, fit: 'whole' },
      { title: 'KEY IN', value: ({ keyring }) => (keyring ? nameOfKeyring(keyring) : 'the file'), fit: 'whole' },
      { title: 'FILE', value: ({ file }) => file, fit: 'below' },
    ]),
  );
}

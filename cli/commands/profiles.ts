import {
  chosenProfile,
  listProfiles,
  nameOfKeyring,
  type Advice,
  type Environment,
  type Profile,
} from '../client/index.ts';
import { formatTable, createLineFormatter, type Terminal } from '../output/index.ts';

const none: Advice = { words: 'No key is stored. Store one with', command: ['login', '--url', 'URL', '--api-key'] };

export async function showProfiles(terminal: Terminal, env: Environment, isJson: boolean): Promise<void> {
  const { profiles, faults } = listProfiles(env);
  showReadable(terminal, env, isJson, profiles);
  // The readable profiles were shown all the same.
  if (faults[0]) throw faults[0];
}

function showReadable(terminal: Terminal, env: Environment, isJson: boolean, profiles: readonly Profile[]): void {
  const inForce = env.RASKET_PROFILE || chosenProfile(env);
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
  if (profiles.length === 0) return terminal.print(createLineFormatter()(none) ?? '');
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

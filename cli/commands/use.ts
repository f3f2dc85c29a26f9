import { checkProfile, chooseProfile, chosenProfile, listProfiles, readEntry } from '../client/index.ts';
import { CliFault, type CommandProcess, type Terminal } from '../output/index.ts';

/** Selects the server of later commands. */
export function useProfile(
  terminal: Terminal,
  { env }: CommandProcess,
  profile: string | undefined,
  { none: isNone = false }: { none?: boolean },
): void {
  if ((profile === undefined) !== isNone)
    throw new CliFault('name a profile, or give --none for the login without a profile', 'usage', {
      words: 'List them with',
      command: ['profiles'],
    });
  if (profile === undefined) {
    chooseProfile(env, undefined);
    return terminal.print('No profile is in use; commands use the login without a profile.');
  }
  const entry = readEntry(env, checkProfile(profile));
  if (!entry) {
    const { profiles } = listProfiles(env);
    const names = profiles.flatMap(({ name }) => name ?? []).join(', ');
    throw new CliFault(
      `there is no profile ${profile}; ${names === '' ? 'there are no profiles' : `the profiles are ${names}`}.`,
      'notFound',
      {
        words: 'Create it with',
        command: ['login', '--url', 'URL', '--profile', profile],
      },
    );
  }
  chooseProfile(env, profile);
  terminal.print(`Later commands use ${entry.url}, with profile ${profile}.`);
  if (env.RASKET_PROFILE) terminal.hint('RASKET_PROFILE is also set, and takes precedence.');
}

/** The choice ends with the login that it was of. */
export function forgetChoice({ env }: CommandProcess, profile: string | undefined): void {
  if (profile !== undefined && chosenProfile(env) === profile) chooseProfile(env, undefined);
}

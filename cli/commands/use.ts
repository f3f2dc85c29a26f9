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
    throw new CliFault('name a profile, or --none for what login kept without one', 'usage', {
      words: 'List them with',
      command: ['profiles'],
    });
  if (profile === undefined) {
    chooseProfile(env, undefined);
    return terminal.print('No profile is in use; commands go to what login kept without one.');
  }
  const entry = readEntry(env, checkProfile(profile));
  if (!entry) {
    const { profiles } = listProfiles(env);
    const names = profiles.flatMap(({ name }) => name ?? []).join(', ');
    throw new CliFault(
      `there is no profile ${profile}; there ${names === '' ? 'is none' : `are ${names}`}.`,
      'notFound',
      {
        words: 'Make it with',
        command: ['login', '--url', 'URL', '--profile', profile],
      },
    );
  }
  chooseProfile(env, profile);
  terminal.print(`Later commands go to ${entry.url}, with profile ${profile}.`);
  if (env.RASKET_PROFILE) terminal.hint('RASKET_PROFILE is set too, and wins over it.');
}

/** The choice ends with the login that it was of. */
export function forgetChoice({ env }: CommandProcess, profile: string | undefined): void {
  if (profile !== undefined && chosenProfile(env) === profile) chooseProfile(env, undefined);
}

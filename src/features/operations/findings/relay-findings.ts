import { findingOf, type Finding } from './finding.ts';

/** A relay that mail waits for, because the operator has to correct something. */
export interface RelayTrouble {
  relay: string;
  detail: string;
  since: number;
}

/** What is wrong with the relays that a process sends through. */
export function relayFindings(troubles: readonly RelayTrouble[]): Finding[] {
  const [first] = troubles.toSorted((a, b) => a.since - b.since);
  if (!first) return [];
  const { relay, detail, since } = first;
  const words =
    'On the server’s machine, see what the relay says, then correct its section of the settings or its password';
  return [
    findingOf('relay_misconfigured', {
      summary: `The relay ${relay} does not accept mail from this server: ${detail}`,
      subjects: troubles.map((trouble) => trouble.relay),
      since,
      advice: { words, command: `rasket relays test ${relay}` },
    }),
  ];
}

import { domainToASCII } from 'node:url';
import { refuse } from '../../platform/refusal/index.ts';
import type { Selection } from '../queue/index.ts';

export interface SelectionInput {
  destination?: string | undefined;
  team_id?: string | undefined;
  email_id?: string | undefined;
}

/** Exactly one, so that an operator drops no more than was meant. */
export function readSelection({ destination, team_id: team, email_id: email }: SelectionInput): Selection {
  const named: Selection[] = [
    ...(destination === undefined ? [] : [{ kind: 'destination' as const, value: asStored(destination) }]),
    ...(team === undefined ? [] : [{ kind: 'team_id' as const, value: team.toLowerCase() }]),
    ...(email === undefined ? [] : [{ kind: 'email_id' as const, value: email.toLowerCase() }]),
  ];
  const [selection] = named;
  if (selection && named.length === 1) return selection;
  throw refuse('validation_error', {
    status: 422,
    say: `Name exactly one of destination, team_id and email_id; got ${named.length === 0 ? 'none' : named.map(({ kind }) => kind).join(' and ')}.`,
  });
}

/** Domains are kept in lower case and in ASCII. A word that is no domain is no destination. */
export const asStored = (destination: string): string => domainToASCII(destination) || destination.toLowerCase();

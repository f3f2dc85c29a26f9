import type { DomainClaim } from '../../../src/contract/index.ts';
import { domainClaims } from '../../families/domain-claims.ts';
import { formatItem, shownFields } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export function printClaim({ terminal }: Session, claim: DomainClaim): void {
  terminal.print(formatItem(terminal, shownFields(domainClaims.get.fields), claim));
}

export function hintNext({ terminal }: Session, claim: DomainClaim): void {
  if (claim.status === 'completed') {
    terminal.hint(
      `\nThe domain is yours. Publish its records within 72 hours: rasket domains configure ${claim.name}, or by hand: rasket domains get ${claim.name}`,
    );
  } else if (claim.status === 'pending') {
    terminal.hint('\nIt is checked again every hour until it ends.');
  }
}

import type { DomainClaim } from '../../../src/contract/index.ts';
import { domainClaims, nextForClaim } from '../../families/domain-claims.ts';
import { formatItem, shownFields } from '../../output/index.ts';
import type { Session } from '../declare.ts';

export function printClaim({ terminal }: Session, claim: DomainClaim): void {
  terminal.print(formatItem(terminal, shownFields(domainClaims.get.fields), claim));
}

export function hintNext({ terminal, advise }: Session, claim: DomainClaim): void {
  const next = nextForClaim(claim);
  if (next !== undefined) terminal.hint('');
  advise(next);
}

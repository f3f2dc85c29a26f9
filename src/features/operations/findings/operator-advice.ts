import type { Store } from '../../../platform/store/index.ts';
import { listOperators } from '../../../tenancy/operators/index.ts';
import type { Finding } from './finding.ts';

const AS_OPERATOR = 'As an operator, ';

/** What an operator is told to do takes a token, of which a new installation has none: the command that makes one comes first. */
export async function withWayToOperator({ db }: Pick<Store, 'db'>, findings: readonly Finding[]): Promise<Finding[]> {
  const isMeant = ({ advice }: Finding): boolean => advice.words.startsWith(AS_OPERATOR);
  if (!findings.some(isMeant)) return [...findings];
  if ((await listOperators(db)).some(({ revoked_at: revokedAt }) => revokedAt === null)) return [...findings];
  return findings.map((finding) => (isMeant(finding) ? { ...finding, advice: firstToken(finding.advice) } : finding));
}

function firstToken({ words, command }: Finding['advice']): Finding['advice'] {
  const then = command === null ? '' : ` (${command})`;
  return {
    words: `There is no operator yet, who could ${words.slice(AS_OPERATOR.length)}${then}. On the server’s machine, make the token of one first`,
    command: 'rasket operators create NAME',
  };
}

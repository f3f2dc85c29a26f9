import type { AnswerOf } from '../../client/index.ts';
import { buildCall } from '../../input/index.ts';
import { CliFault } from '../../output/index.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';
import type { Session } from '../session.ts';

/** A program hears by the exit code that it is not proven, as of a sending domain. */
export async function verifySsoDomain(session: Session, call: Call): Promise<void> {
  const [path, body] = await prepare(session, call);
  const answer = await session.client.call(...buildCall(call.action, path, body));
  const { domain, status, diagnosis } = answer as AnswerOf<'verifySsoDomain'>;
  if (session.isJson || status === 'verified') await printResponse(session, call, answer, body);
  if (status !== 'verified') throw new CliFault(`${domain} is not verified: ${diagnosis ?? 'DNS was not queried'}`);
}

import type { AnswerOf } from '../../client/index.ts';
import { buildCall } from '../../input/index.ts';
import { ADDRESS_MISSING } from '../../output/index.ts';
import type { Session } from '../declare.ts';
import { prepare, printResponse, type Call } from '../run-action.ts';

type Checklist = AnswerOf<'getBroadcastChecklist'>;

/** Prints the checklist; exits with 1 if a send would be refused, and says how to set what is missing. */
export async function runChecklist(session: Session, call: Call): Promise<void> {
  const [path, body] = await prepare(session, call);
  const answer = (await session.client.call(...buildCall(call.action, path, body))) as Checklist;
  const { gate, checks } = answer;
  if (gate.some(({ ok }) => !ok) || checks.some(({ status }) => status === 'fail')) session.fail();
  const hasNoAddress = gate.some(({ name, ok }) => name === 'postal_address' && !ok);
  const said = gate.map((item) =>
    item.name === 'postal_address' && !item.ok
      ? { ...item, message: item.message.replace(/; set it with PATCH \/team\.$/, '.') }
      : item,
  );
  await printResponse(session, call, session.isJson ? answer : { ...answer, gate: said }, body);
  if (hasNoAddress) session.advise(ADDRESS_MISSING);
}

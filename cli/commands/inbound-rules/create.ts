import type { BodyOf } from '../../client/index.ts';
import type { Session } from '../declare.ts';

type Body = BodyOf<'createInboundRule'>;

export interface RuleOptions {
  action?: string;
  forwardTo?: string[];
}

export async function createInboundRule(session: Session, pattern: string, options: RuleOptions): Promise<void> {
  const { client, terminal, isJson } = session;
  const created = await client.call('createInboundRule', { body: { pattern, ...ruleFields(options) } as Body });
  if (isJson) return terminal.printJson(created);
  terminal.print(terminal.isTty ? `Created  ${created.id}` : created.id);
}

/** What the words say; whether it is right, the server says. */
export const ruleFields = ({ action, forwardTo }: RuleOptions): object => ({
  ...(action === undefined ? {} : { action }),
  ...(forwardTo === undefined ? {} : { forward_to: forwardTo }),
});

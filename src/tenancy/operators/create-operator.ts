import { refuse } from '../../platform/refusal/index.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { insertOperator } from './operators.store.ts';
import { OPERATOR_PREFIX } from './authenticate-operator.ts';

const SHOWN_CHARS = 12;
const NAME_CHARS_MAX = 100;

/** The token is answered this once. */
export async function createOperator(
  store: Store,
  wanted: string,
): Promise<{ id: string; name: string; token: string }> {
  const name = wanted.trim();
  if (name === '' || name.length > NAME_CHARS_MAX || /[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) {
    throw refuse('validation_error', {
      status: 422,
      say: `The name of an operator is one line of 1 to ${NAME_CHARS_MAX} characters; got ${name.length}.`,
    });
  }
  const token = newToken(OPERATOR_PREFIX);
  const row = {
    id: store.ids.uuid(),
    name,
    token_prefix: token.slice(0, SHOWN_CHARS),
    created_at: store.clock.now(),
  };
  await store.db.tx((tx) => insertOperator(tx, row, hashToken(token)));
  return { id: row.id, name, token };
}

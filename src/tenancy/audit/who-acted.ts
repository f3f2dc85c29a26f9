import type { Actor } from '../access/index.ts';
import type { AuditRow } from './audit.store.ts';

/** How an entry names who acted. The name of a key is looked up when the entry is written. */
export function whoActed(actor: Actor): Pick<AuditRow, 'actor_kind' | 'actor_id' | 'actor_name'> {
  switch (actor.kind) {
    case 'api_key':
    case 'smtp_credential':
      return { actor_kind: 'api_key', actor_id: actor.keyId, actor_name: null };
    case 'session':
      return { actor_kind: 'user', actor_id: actor.userId, actor_name: actor.name };
    // An app acts for the person who let it in.
    case 'oauth_grant':
      return { actor_kind: 'user', actor_id: actor.userId, actor_name: actor.name };
    case 'operator':
      if (actor.isOfMachine === true) return { actor_kind: 'command', actor_id: null, actor_name: actor.name };
      return { actor_kind: 'operator', actor_id: actor.operatorId, actor_name: actor.name };
    case 'job':
      return { actor_kind: 'system', actor_id: null, actor_name: actor.name };
  }
}

import { mailedTokens } from '../../../platform/secrets/index.ts';
import type { Store } from '../../../platform/store/index.ts';

const tokens = mailedTokens('ri_', 'invitation');

export const invitationToken = ({ secrets }: Store, id: string): string => tokens.make(secrets, id);

export const tokenOf = ({ secrets }: Store, row: { id: string; token_hash: string }): string | undefined =>
  tokens.of(secrets, row);

import type { TemplateStatus } from '../../../src/contract/index.ts';
import type { Style } from '../../output/index.ts';

/** Green can be sent with. */
export const styleOf = (status: TemplateStatus): Style => (status === 'published' ? 'green' : 'plain');

import type { Client } from '../../client/index.ts';
import { DOMAIN } from '../../families/domains.ts';
import { findId } from '../find-id.ts';

export const findDomainId = (client: Client, domain: string): Promise<string> => findId(client, DOMAIN, domain);

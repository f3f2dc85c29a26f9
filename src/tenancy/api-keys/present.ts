import { isoTime } from '../../platform/clock/index.ts';
import type { ApiKeyRow } from './api-keys.store.ts';

export function presentApiKey(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    created_at: isoTime(row.created_at),
    last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
    permission: row.permission,
    ...(row.domain_id === null ? {} : { domain_id: row.domain_id }),
    key_prefix: row.key_prefix,
    status: row.status,
    last_used_request_log_id: row.last_used_request_log_id,
  };
}

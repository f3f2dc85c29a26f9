/** Every error name and the statuses it stands under. errors.yaml says the same in words; a test compares the two. */
export const errorCatalogue = {
  invalid_idempotency_key: [400],
  validation_error: [400, 403, 422],
  missing_api_key: [401],
  invalid_api_key: [401],
  restricted_api_key: [401, 403],
  email_above_quota: [403],
  invalid_permission: [403],
  suspended_api_key: [403],
  inbox_not_set_up: [403],
  not_found: [404],
  method_not_allowed: [405],
  concurrent_idempotent_requests: [409],
  invalid_idempotent_request: [409],
  resource_locked: [409],
  receiving_mx_in_use: [409],
  invalid_attachment: [422],
  invalid_parameter: [422],
  missing_required_field: [422],
  missing_required_parameter: [422],
  daily_quota_exceeded: [429],
  monthly_quota_exceeded: [429],
  marketing_quota_exceeded: [429],
  rate_limit_exceeded: [429],
  application_error: [500],
  not_implemented: [501],
  service_unavailable: [503],
} as const satisfies Record<string, readonly number[]>;

export type ErrorName = keyof typeof errorCatalogue;

/** The statuses a name may stand under: `ErrorStatus<'restricted_api_key'>` is 401 | 403. */
export type ErrorStatus<Name extends ErrorName = ErrorName> = (typeof errorCatalogue)[Name][number];

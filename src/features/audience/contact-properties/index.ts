/**
 * Contact properties: the keys a team declares, and the type of each. It promises that a key is declared once, whatever its
 * letter case, and that what is deleted is gone for every reader at once. The values themselves are the contacts'.
 */
export {
  createContactProperty,
  declareFromImport,
  type WantedProperty,
  deleteContactProperty,
  findPropertyUsers,
  getContactProperty,
  listContactProperties,
  updateContactProperty,
} from './contact-properties.ts';
export {
  declaredProperties,
  forgetProperty,
  nextDeletedProperty,
  type PropertyRow,
} from './contact-properties.store.ts';

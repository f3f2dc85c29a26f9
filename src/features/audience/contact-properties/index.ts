/**
 * Contact properties: the keys a team declares, and the type of each. It promises that a key is declared once, whatever its
 * letter case, and that what is deleted is gone for every reader at once. The values themselves are the contacts'.
 */
export { createContactProperty } from './create-contact-property.ts';
export { declareFromImport, type WantedProperty } from './declare-from-import.ts';
export { deleteContactProperty } from './delete-contact-property.ts';
export {
  declaredProperties,
  forgetProperty,
  nextDeletedProperty,
  type PropertyRow,
} from './contact-properties.store.ts';
export { getContactProperty, listContactProperties } from './read-contact-properties.ts';
export { updateContactProperty } from './update-contact-property.ts';

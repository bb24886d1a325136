// Placeholders of an expression, so that no name and no value is text of it.
export function placeholders() {
  const names = {};
  const values = {};
  const given = all => (Object.keys(all).length > 0 ? all : undefined);
  return {
    nameOf(name) {
      const known = Object.keys(names).find(alias => names[alias] === name) ?? `#n${Object.keys(names).length}`;
      names[known] = name;
      return known;
    },
    valueOf(value) {
      const alias = `:v${Object.keys(values).length}`;
      values[alias] = value;
      return alias;
    },
    // the members of the request; one without any would be refused
    members: () => ({ ExpressionAttributeNames: given(names), ExpressionAttributeValues: given(values) }),
  };
}

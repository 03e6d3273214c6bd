UPDATE member SET value = :value, standing = :standing, reason = :reason WHERE phase = :phase
